#!/usr/bin/env perl
# A merge driver of git, see gitattributes(5): merges lines, and words where both sides changed a line or touching lines. An insertion
# beside or within a deletion is no conflict here: both are done. A number that both sides change counts things, so both changes add up.
use strict;
use warnings;

my ($ours, $base, $theirs) = @ARGV;

my $conflicts = 0;
my $merged = compose(qr/.*\n/, map { contents($_) } $ours, $base, $theirs) // by_conflict();
open my $out, '>', $ours or die "$ours: $!";
print $out $merged;
close $out or die "$ours: $!";
exit($conflicts ? 1 : 0);

# Merges by git; then the words of each conflict.
sub by_conflict {
    my $merged = qx{git merge-file -p --diff3 --quiet "$ours" "$base" "$theirs"};
    $merged =~ s/^<{7}.*?\n(.*?)^\|{7}.*?\n(.*?)^={7}\n(.*?)^>{7}.*?\n/merge($1, $2, $3) \/\/ ($conflicts++, $&)[1]/gems;
    return $merged;
}

sub contents { my ($file) = @_; open my $in, '<', $file or die "$file: $!"; local $/; return <$in> }

# Returns the base with the edits of both sides; nothing if one replaces a word that the other replaces or deletes.
sub merge { return compose(qr/.*\n/, @_) // words(@_) }

sub words { return compose(qr/\w+|\W/, @_) }

sub compose {
    my $unit = shift;
    my ($ours, $base, $theirs) = map { [/$unit/g] } @_;
    my (%gone, %replaced, %comes, %sum, %line);
    for my $side ($ours, $theirs) {
        for (edits($base, $side)) {
            my ($first, $goes, @comes) = @$_;
            if ($goes == 1 && @comes == 1 && "$base->[$first]$comes[0]" =~ /^\d+$/) {
                $sum{$first} = ($sum{$first} // $base->[$first]) + $comes[0] - $base->[$first];
                next;
            }
            if ($goes == 1 && @comes == 1 && $comes[0] =~ /\n/) {
                # Git takes a line that both sides change to the same for one change. Its numbers may add up.
                my $merged = defined $line{$first} ? words($line{$first}, $base->[$first], $comes[0]) : $comes[0];
                return if $gone{$first} || !defined $merged;
                $line{$first} = $merged;
                next;
            }
            for my $at ($first .. $first + $goes - 1) {
                return if defined $line{$at} || $gone{$at}++ && (@comes || $replaced{$at});
                $replaced{$at} = @comes;
            }
            push @{$comes{$first}}, @comes;
        }
    }
    return join '', map { (@{$comes{$_} // []}, $gone{$_} ? () : $line{$_} // $sum{$_} // $base->[$_] // '') } 0 .. @$base;
}

# Returns the edits that make one list the other: [first, number of those that go, those that come].
sub edits {
    my ($from, $to) = @_;
    for ([from => $from], [to => $to]) {
        open my $out, '>', "$ours.$_->[0]" or die "$ours.$_->[0]: $!";
        print $out map { s/\n/\\n/gr . "\n" } @{$_->[1]};
    }
    my @edits;
    for (qx{diff --minimal "$ours.from" "$ours.to"}) {
        my ($a, $b, $kind, $c, $d) = /^(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$/ or next;
        my $goes = $kind eq 'a' ? 0 : ($b // $a) - $a + 1;
        my @comes = $kind eq 'd' ? () : @$to[$c - 1 .. ($d // $c) - 1];
        push @edits, leftmost($from, $kind eq 'a' ? $a : $a - 1, $goes, @comes);
    }
    unlink "$ours.from", "$ours.to";
    return @edits;
}

# Moves an edit as far to the left as its result allows. In `a, b, c` the entry `b` then always comes or goes with the comma before it, so that
# the list stays a list if the other side removes or adds an entry beside it.
sub leftmost {
    my ($list, $first, $goes, @comes) = @_;
    while ($first && @comes && !$goes && $list->[$first - 1] eq $comes[-1]) {
        unshift @comes, pop @comes;
        $first--;
    }
    $first-- while $first && $goes && !@comes && $list->[$first - 1] eq $list->[$first + $goes - 1];
    return [$first, $goes, @comes];
}
