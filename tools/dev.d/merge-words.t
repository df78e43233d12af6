#!/usr/bin/env perl
# What merge-words.pl promises, by examples. `./dev template` runs them.
use strict;
use warnings;
use File::Temp qw(tempdir);

my @EXAMPLES = (
    # what it shows, ours, base, theirs; the merge, or nothing for a conflict
    ['entries that both sides add to a list are in the order of the merges', "[a, b, x];\n", "[a, b];\n", "[a, b, y];\n", "[a, b, x, y];\n"],
    ['an entry that comes beside one that goes', "[a, b, x];\n", "[a, b];\n", "[a];\n", "[a, x];\n"],
    ['an entry that comes within a text that goes', "let f = T { a, x, b };\n", "let f = T { a, b };\n", "T { a };\n", "T { a, x };\n"],
    ['entries that both sides remove', "[a, c];\n", "[a, b, c];\n", "[a, b];\n", "[a];\n"],
    ['a number that both sides change counts things', "[T; 4]\n", "[T; 3]\n", "[T; 4]\n", "[T; 5]\n"],
    ['a number that one side raises and the other lowers', "[T; 4]\n", "[T; 3]\n", "[T; 2]\n", "[T; 3]\n"],
    ['lines that both sides add at one place', "a\nx {\n}\nb\n", "a\nb\n", "a\ny {\n}\nb\n", "a\nx {\n}\ny {\n}\nb\n"],
    ['a line that one side removes and the other changes', "a\nc\n", "a\nb b\nc\n", "a\nb d\nc\n"],
    ['a word that both sides replace', "let x\n", "let a\n", "let y\n"],
);

my ($program, $folder, @wrong) = ($0 =~ s/\.t$/.pl/r, tempdir(CLEANUP => 1));
for (@EXAMPLES) {
    my ($what, $ours, $base, $theirs, $expected) = @$_;
    my @files = map { "$folder/$_" } qw(ours base theirs);
    for my $at (0 .. 2) {
        open my $out, '>', $files[$at] or die "$files[$at]: $!";
        print $out ($ours, $base, $theirs)[$at];
        close $out or die "$files[$at]: $!";
    }
    my $failed = system $^X, $program, @files;
    open my $in, '<', $files[0] or die "$files[0]: $!";
    my $merged = join '', <$in>;
    push @wrong, "$what: " . ($failed ? 'a conflict' : "merged as\n$merged") if defined $expected ? $failed || $merged ne $expected : !$failed;
}
print "merge-words.pl: $_\n" for @wrong;
exit(@wrong ? 1 : 0);
